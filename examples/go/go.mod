module hati.example/joining

go 1.19
