/** State that end-to-end tests can change in testing mode (`PLATFORM_TESTING_MODE`); lost on restart. */
export interface Testing {
  readonly isOn: boolean
  /** Epoch ms; the clock for sessions, remembered logins and tokens. */
  readonly now: () => number
  /** Whether sign-in attempts are throttled. */
  readonly throttles: () => boolean
  readonly state: () => TestingState
  /** @throws TypeError if testing mode is off */
  set(wanted: Partial<TestingState>): void
}

export type TestingState = {
  /** Offset of the host's clock into the future, in ms. */
  readonly clockOffsetMs: number
  readonly throttles: boolean
}

/** @param isOn `PLATFORM_TESTING_MODE`; if false, the system clock is used and attempts are throttled */
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
