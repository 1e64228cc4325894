/** State that end-to-end tests can change in testing mode (`PLATFORM_TESTING_MODE`). It is lost on restart. */
export interface Testing {
  readonly isOn: boolean
  /** The current time for sessions, remembered logins and tokens, in epoch ms. */
  readonly now: () => number
  /** Whether sign-in attempts are throttled. */
  readonly throttles: () => boolean
  readonly state: () => TestingState
  /** @throws TypeError if testing mode is off */
  set(wanted: Partial<TestingState>): void
}

export type TestingState = {
  /** How far the host's clock is set ahead, in ms. */
  readonly clockOffsetMs: number
  readonly throttles: boolean
}

/** @param isOn whether `PLATFORM_TESTING_MODE` is set; if not, the system clock is used and attempts are throttled */
export function createTesting(isOn: boolean): Testing {
  let state: TestingState = { clockOffsetMs: 0, throttles: true }
  return {
    isOn,
    now: () => Date.now() + state.clockOffsetMs,
    throttles: () => state.throttles,
    state: () => state,
    set(wanted) {
      if (!isOn) throw new TypeError('the host is not in testing mode; set PLATFORM_TESTING_MODE=true')
      state = { ...state, ...wanted }
    },
  }
}
