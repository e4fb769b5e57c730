"""Small lints of the project's rules: layers, notes, first comments, file lengths, tests that can fail. Standard library only."""
