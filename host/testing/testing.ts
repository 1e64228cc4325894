/** What end-to-end tests change of a host in testing mode (`PLATFORM_TESTING_MODE`), until it ends. */
export interface Testing {
  readonly isOn: boolean
  /** Epoch milliseconds, as sessions, remembered logins and tokens count them. */
  readonly now: () => number
  /** Whether attempts to sign in are counted. */
  readonly throttles: () => boolean
  readonly state: () => TestingState
  /** @throws TypeError when testing mode is off */
  set(wanted: Partial<TestingState>): void
}

export type TestingState = {
  /** How far the host's clock is set forward, in ms. */
  readonly clockOffsetMs: number
  readonly throttles: boolean
}

/** @param isOn `PLATFORM_TESTING_MODE`; without it the clock is the machine's and attempts are counted */
export function createTesting(isOn: boolean): Testing {
  let state: TestingState = { clockOffsetMs: 0, throttles: true }
  return {
    isOn,
    now: () => Date.now() + state.clockOffsetMs,
    throttles: () => state.throttles,
    state: () => state,
    set(wanted) {
      if (!isOn) throw new TypeError('the host is not in testing mode')
      state = { ...state, ...wanted }
    },
  }
}
