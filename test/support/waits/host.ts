import type { PluginApi } from '../../../base/bundles/plugins.ts'
import type { Plugin } from '../../../runtime/plugin.ts'

/** How long the plugin takes to respond, in ms. */
const ANSWER_TIME = 100

/**
 * A plugin like those that operators add. Its responses are slow, so a test can act while a script waits in the middle
 * of a login.
 */
export default (api: PluginApi): Plugin => {
  const nothing = api.z.tuple([])
  const answerLater = () => new Promise<null>((resolve) => setTimeout(() => resolve(null), ANSWER_TIME))
  return {
    name: 'waits',
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    requests: {
      ask: api.request(nothing, answerLater, { changes: false }),
      change: api.request(nothing, answerLater),
      fail: api.request(nothing, () => Promise.reject(new Error('as it should')), { changes: false }),
      now: api.request(nothing, () => null, { changes: false }),
    },
  }
}
