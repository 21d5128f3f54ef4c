# expect: ok
files = []
try:
    for n in range(1_000_000):
        files.append(open(f"flood-{n % 10}", "w"))
except (OSError, MemoryError) as err:
    print(type(err).__name__)
print("opened some", len(files) > 10)
