from invoicekit import invoice_total, line_total, tax


def line(quantity, unit_price):
    return {"quantity": quantity, "unit_price": unit_price}


def test_one_line():
    assert invoice_total([line(2, 10.5)]) == 21.0


def test_lines_are_added():
    assert invoice_total([line(1, 0.1), line(1, 0.2)]) == 0.3


def test_no_lines():
    assert invoice_total([]) == 0.0


def test_line_total_is_not_rounded():
    assert line_total(line(2, 0.125)) == 0.25


def test_tax():
    assert tax([line(1, 100.0)], 19) == 19.0
