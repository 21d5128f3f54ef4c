# expect: timeout,memory_limit,error
import decimal

decimal.getcontext().prec = decimal.MAX_PREC
decimal.getcontext().Emax = decimal.MAX_EMAX
decimal.Decimal(1) / 3
