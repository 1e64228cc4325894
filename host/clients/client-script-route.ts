import type { Context } from 'koa'
import { sendScript } from '../../base/http/send-script.ts'
import type { BrowserScript } from '../../base/web/browser-script.ts'
import { makeClientScript, makeDevScript } from '../web/scripts.ts'

const script = makeClientScript()

/**
 * The URL of the browser script. It is below the solution's path, because the solution's own host name serves no
 * other paths.
 */
export function clientScriptPath(solution: string): string {
  return `/solution/${solution}/client.js?${script.hash}`
}

/** The script is the same for every solution. */
export function sendClientScript(ctx: Context): void {
  sendScript(ctx, script)
}

let devScript: BrowserScript | undefined

function needDevScript(): BrowserScript {
  devScript ??= makeDevScript()
  return devScript
}

/** The URL of the script that shows the report of `solhost dev`. */
export function devScriptPath(solution: string): string {
  return `/solution/${solution}/dev.js?${needDevScript().hash}`
}

/** Only live hosts have a route for this script. */
export function sendDevScript(ctx: Context): void {
  sendScript(ctx, needDevScript())
}
