package regular

// noWait: opening does not wait for anybody there.
const noWait = 0
