import { stripTypeScriptTypes } from 'node:module'
import type { Fault } from '../bundle/faults.ts'

/** Replaces types by white space, so that lines and columns stay true. JavaScript files stay as they are. */
export function stripTypes(file: string, source: string): { source: string } | { fault: Fault } {
  if (!file.endsWith('.ts')) return { source }
  try {
    return { source: stripTypeScriptTypes(source, { mode: 'strip' }) }
  } catch (error) {
    return { fault: { code: 'script_syntax', message: reason(error), ...place(error, file) } }
  }
}

/** Node's text has a code frame under its first line; the author has the file open, so the first line says enough. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const lines = message.split('\n').map((line) => line.trim())
  return `TypeScript: ${lines.find((line) => /^[A-Z`'"].*[a-z]/.test(line))?.slice(0, 500) ?? lines[0]?.slice(0, 500)}`
}

function place(error: unknown, file: string): { file: string; line?: number; column?: number } {
  const { startLine, startColumn } = error as { startLine?: unknown; startColumn?: unknown }
  if (typeof startLine !== 'number' || typeof startColumn !== 'number') return { file }
  return { file, line: startLine, column: startColumn + 1 }
}
