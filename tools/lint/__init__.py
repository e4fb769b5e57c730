"""Small lints that hold what STYLE asks for: layers, notes, first comments, file lengths, tests that can fail. Standard library only."""
