import type { Failed } from '../../runtime/outcome.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import { failureLine } from '../solutions/guest-bindings.ts'

/** A failed script call, as reported to the test that caused it. */
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
