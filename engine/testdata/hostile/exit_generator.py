# expect: error
raise GeneratorExit
