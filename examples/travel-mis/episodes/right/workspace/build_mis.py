from collections import Counter
from openpyxl import Workbook, load_workbook

rows = list(load_workbook("travel_expenses_q3_fy26.xlsx")["Expenses"].iter_rows(min_row=2, values_only=True))
q2 = {"Sales": 1320000, "Engineering": 985000, "Customer Success": 740000,
      "Marketing": 695000, "People & Admin": 290000, "Leadership": 220000}
q3 = Counter()
for row in rows:
    q3[row[2]] += row[6]
total, before = sum(q3.values()), sum(q2.values())
dubai = sum(row[6] for row in rows if row[5].startswith("Dubai sales summit"))
print("rows", len(rows), "total", total, "dubai", dubai, dict(q3))

def change(now, then):
    return f"{(now / then - 1) * 100:+.1f}%"

book = Workbook()
sheet = book.active
sheet.title = "MIS"
sheet.append(["Travel expense MIS, Q3 FY26 (October to December 2025), amounts in rupees"])
sheet.append([])
sheet.append(["Total travel spend", total])
sheet.append([f"Q2 FY26: 42,50,000. Change: +5,70,000 ({change(total, before)})"])
sheet.append([])
sheet.append(["Department", "Q3 FY26", "Q2 FY26", "Change", "Change %"])
for name in q2:
    sheet.append([name, q3[name], q2[name], q3[name] - q2[name], change(q3[name], q2[name])])
sheet.append(["Total", total, before, total - before, change(total, before)])
sheet.append([])
sheet.append(["Biggest change: Sales, up 5,25,000. The Dubai sales summit (5,60,000) was moved"])
sheet.append(["from Q4 to November; without it Sales would be 12,85,000, slightly below Q2."])
sheet.append([])
sheet.append(["Marked Approved in the sheet without the sign-off that the policy asks for above 1,00,000:"])
sheet.append(["EXP-3022, Rohan Mehta (Sales), 1,42,500, Dubai business class: booked while Kavita Iyer travelled"])
sheet.append(["EXP-3044, Joel Fernandes (Engineering), 1,18,000, Goa hotel: Arjun Nair asked for two more quotes"])
sheet.append([])
sheet.append(["Source: Drive, travel_expenses_q3_fy26.xlsx (60 expenses) and travel_summary_q2_fy26.csv"])
book.save("Q3_FY26_travel_MIS.xlsx")
