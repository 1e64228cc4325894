import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

const MOST_A_CALL = 20
const MOST = 1000

/** Reports each missing key to the host once. */
export function createMissing(api: Pick<GuestApi, 'state' | 'command' | 'list' | 'record'>) {
  /** The keys that were already reported. */
  const reported = api.record<true>()
  let count = 0
  let now = api.list<string>()

  /** Ignore errors: only a log line depends on this, so it must not make the call fail. */
  function note(key: string): void {
    const isLoading = api.state() === null
    if (isLoading || reported[key] === true || count >= MOST) return
    if (now.length >= MOST_A_CALL) return
    try {
      api.command('missing', [key])
    } catch {
      return
    }
    reported[key] = true
    count++
    now[now.length] = key
  }

  function nextCall(lastCounted: boolean): void {
    // The host dropped the reports of a failed call, so these keys may be reported again.
    if (!lastCounted) {
      for (let index = 0; index < now.length; index++) delete reported[now[index] as string]
      count -= now.length
    }
    now = api.list()
  }

  return { note, nextCall }
}
