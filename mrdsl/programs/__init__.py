"""Linear and integer programs of what is rented: rows and columns, relaxation by prices, whole numbers, packing."""
