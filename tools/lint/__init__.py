"""Small lints that hold what STYLE asks for: layers, notes, first comments, file lengths. Standard library only."""
