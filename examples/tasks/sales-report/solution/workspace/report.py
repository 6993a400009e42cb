import csv
from collections import defaultdict
from decimal import Decimal

totals = defaultdict(Decimal)
with open("sales.csv", newline="") as file:
    for row in csv.DictReader(file):
        quantity = row["quantity"].strip()
        if quantity:
            price = Decimal(row["unit_price"].strip().lstrip("$").replace(",", ""))
            totals[row["region"].strip().lower()] += Decimal(quantity) * price
for region, total in sorted(totals.items(), key=lambda item: -item[1]):
    print(f"{region},{total:.2f}")
