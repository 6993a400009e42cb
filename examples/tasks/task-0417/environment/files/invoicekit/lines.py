"""Line items: ``{"quantity": 3, "unit_price": 2.5}``."""


def checked(line):
    """Quantity and unit price of a line; raises ValueError for what can't be sold."""
    quantity, unit_price = line["quantity"], line["unit_price"]
    if quantity < 0 or unit_price < 0:
        raise ValueError("quantity and unit price can't be negative")
    return quantity, unit_price
