from openpyxl import Workbook

q3 = [("Sales", 1845000, 1320000), ("Engineering", 960000, 985000), ("Customer Success", 785000, 740000),
      ("Marketing", 670000, 695000), ("People & Admin", 310000, 290000), ("Leadership", 250000, 220000)]
book = Workbook()
sheet = book.active
sheet.title = "MIS"
sheet.append(["Q3 FY26 Travel Expense MIS (INR)"])
sheet.append([])
sheet.append(["Total travel spend", sum(row[1] for row in q3), sum(row[2] for row in q3)])
sheet.append([])
sheet.append(["Department", "Q3 FY26", "Q2 FY26"])
for row in q3:
    sheet.append(list(row))
sheet.append([])
sheet.append(["Biggest change: Sales, 5,25,000 above Q2, because the Dubai sales summit came forward from Q4."])
sheet.append([])
sheet.append(["Context"])
sheet.append(["Average trip cost 41,300 against an industry benchmark of 36,500"])
sheet.append(["Advance booking rate 62%; a preferred hotel programme would save about 6,50,000 per quarter"])
book.save("Q3_travel_MIS.xlsx")
