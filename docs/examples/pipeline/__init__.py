"""A pipeline over two small tools."""
