"""Series of values: their levels, trends, dependence and outliers."""
