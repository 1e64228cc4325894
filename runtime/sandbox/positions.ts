import type { Position } from '../outcome.ts'

/** Finds the first frame in a stack trace that is in one of the solution's own files. */
export function findPosition(stack: string, files: ReadonlySet<string>): Position | undefined {
  for (const line of stack.split('\n', 40)) {
    const match = /(?:\(|at |\[|^)([A-Za-z0-9._/-]{1,240}):(\d{1,9}):(\d{1,9})[)\]]?\s*$/.exec(line.slice(0, 400))
    const file = match?.[1]
    if (match && file !== undefined && files.has(file))
      return { file, line: Number(match[2]), column: Number(match[3]) }
  }
  return undefined
}
