import type { Context } from 'koa'
import { sendScript } from '../../base/http/send-script.ts'
import { makeClientScript } from '../web/scripts.ts'

const script = makeClientScript()

/** The address of the browser's script: below the solution's own, since its host name serves nothing else. */
export function clientScriptPath(solution: string): string {
  return `/solution/${solution}/client.js?${script.hash}`
}

/** The same text for every solution. */
export function sendClientScript(ctx: Context): void {
  sendScript(ctx, script)
}
