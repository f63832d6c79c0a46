package launch

const smallHostEnv = "LAUNCH_TEST_SMALL_HOST"

func smallHost() {}
