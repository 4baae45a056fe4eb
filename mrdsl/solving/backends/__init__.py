"""How each kind of solver is reached: embedded, as a program, or through Pyomo."""
