"""Random specs, solved in every way there is: answers to the same question must agree."""
