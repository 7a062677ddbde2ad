package engine

// SimulatedMark is the local part of the version that a simulated engine of
// this project states (simengine profiles). A campaign in which any engine
// states it is published as simulated, whatever else its run says.
const SimulatedMark = "+sim."
