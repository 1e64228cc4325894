import { stripTypeScriptTypes } from 'node:module'
import type { Fault } from '../bundle/faults.ts'

/** Replaces types with white space to preserve lines and columns. JavaScript files are left unchanged. */
export function stripTypes(file: string, source: string): { source: string } | { fault: Fault } {
  if (!file.endsWith('.ts')) return { source }
  try {
    return { source: stripTypeScriptTypes(source, { mode: 'strip' }) }
  } catch (error) {
    return { fault: { code: 'script_syntax', message: reason(error), ...place(error, file) } }
  }
}

function reason(error: unknown): string {
  const message = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)
  const advice = /not supported in strip-only mode/.test(message)
    ? ': scripts can use types, but not enum, namespace, import = or parameter properties'
    : ''
  return `TypeScript: ${message.slice(0, 500)}${advice}`
}

/**
 * Reads the error's position from the text that Node writes before the stack trace: `:line`, the line itself and a row
 * of carets. The error has no fields for the position.
 */
function place(error: unknown, file: string): { file: string; line?: number; column?: number } {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const line = /^:(\d+)\n/.exec(stack)?.[1]
  if (line === undefined) return { file }
  const carets = /^( *)\^+$/m.exec(stack)?.[1]
  return { file, line: Number(line), ...(carets === undefined ? {} : { column: carets.length + 1 }) }
}
