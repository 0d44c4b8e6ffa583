from middle import median

print("odd:", median([9, 1, 3]))
print("even:", median([4, 1, 2, 3]))
try:
    median([])
    print("empty: taken")
except ValueError:
    print("empty: refused")
