import type { GuestApi } from '../../../runtime/sandbox/guest-api.d.ts'

export default function waits(api: GuestApi) {
  return {
    ask: () => api.request('ask', []),
    change: () => api.request('change', []),
    fail: () => api.request('fail', []),
    now: () => api.request('now', []),
  }
}
