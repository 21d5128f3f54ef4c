# expect: ok
import multiprocessing
import time

started = failed = 0


def work(depth):
    for _ in range(3):
        multiprocessing.Process(target=work, args=(depth + 1,)).start()


processes = []
for _ in range(200):
    p = multiprocessing.Process(target=time.sleep, args=(100,))
    try:
        p.start()
    except OSError:
        failed += 1
    else:
        started += 1
        processes.append(p)
if not 1 <= started <= 64 or failed + started != 200:
    raise SystemExit(f"{started} processes were started, {failed} were not")
for p in processes:
    p.kill()
for p in processes:
    p.join()

p = multiprocessing.Process(target=work, args=(0,))
p.start()
p.join()
if p.exitcode != 1:
    raise SystemExit("a process has started processes")
