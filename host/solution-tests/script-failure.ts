import type { Failed } from '../../runtime/outcome.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import { failureLine } from '../solutions/guest-bindings.ts'

/** A call of the solution's scripts that failed, as a test that asked for it hears of it. */
export class ScriptFailure extends ScriptError {
  readonly failure: Failed

  constructor(failure: Failed) {
    const { code, position } = failure
    const place = position === undefined ? '' : ` at ${position.file}:${position.line}:${position.column}`
    super(`${code}${place}: ${failureLine(failure).message}`)
    this.name = 'ScriptFailure'
    this.failure = failure
  }
}
