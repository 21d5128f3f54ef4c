# expect: ok,error
import sys

sys.stdout.close()
sys.stderr.close()
sys.stdin.close()
print("nowhere")
