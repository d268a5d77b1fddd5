"""Pictures of graphs: what is drawn, where it goes, and how it looks."""

from .visualize import visualize

__all__ = ["visualize"]
