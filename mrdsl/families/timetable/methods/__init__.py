"""Methods that plan a night: insertion into a timetable of slots, and bounds."""
