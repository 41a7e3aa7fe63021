package watchdog

// Seize takes the watchdog's own lock and keeps it until it is given back, as a goroutine that hangs inside would.
func (w *Watchdog) Seize() (giveBack func()) {
	w.mu.Lock()
	return w.mu.Unlock
}
