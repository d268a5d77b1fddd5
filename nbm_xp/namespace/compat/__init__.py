"""What one library lacks, and how it is mended: one module for each library, with a function ``build()``.

Nothing above `nbm_xp.namespace` knows of these gaps. Each mend states what is wrong and is tested to be needed.
"""
