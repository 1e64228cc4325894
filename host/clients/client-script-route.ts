import type { Context } from 'koa'
import { sendScript } from '../../base/http/send-script.ts'
import { makeClientScript } from '../web/scripts.ts'

const script = makeClientScript()

/** The address of the browser script. It is below the solution's path because its host name serves nothing else. */
export function clientScriptPath(solution: string): string {
  return `/solution/${solution}/client.js?${script.hash}`
}

/** The script is the same for every solution. */
export function sendClientScript(ctx: Context): void {
  sendScript(ctx, script)
}
