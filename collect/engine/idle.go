package engine

// Idle tells whether an engine has nothing to do: no request running and none
// waiting (measurement.md section 11). known is false when the page does not say;
// a page that shows work is known not to be idle, whatever else it lacks.
func Idle(page Page) (idle, known bool) {
	running, _, hasRunning := Resolve(page, "requests_running")
	waiting, _, hasWaiting := Resolve(page, "requests_waiting")
	if hasRunning && running > 0 || hasWaiting && waiting > 0 {
		return false, true
	}
	if !hasRunning || !hasWaiting {
		return false, false
	}
	return running == 0 && waiting == 0, true
}
