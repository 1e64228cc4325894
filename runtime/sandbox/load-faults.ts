import { describeFault, isLoadFault, type LoadFault, loadTimedOut, memoryText } from './call-end.ts'
import type { Isolate } from './isolate.ts'

export type LoadFaults = ReturnType<typeof createLoadFaults>

/** Describes errors in loading a solution's scripts into an isolate. @param files the solution's files */
export function createLoadFaults(
  isolate: Isolate,
  limits: Readonly<Record<string, number>>,
  files: ReadonlySet<string>,
) {
  function outOfMemory(file: string): LoadFault {
    return { code: 'script_memory', file, message: memoryText(limits) }
  }

  return {
    outOfMemory,
    /** Describes an error from a file's top-level code. @param isOver whether the code exceeded its time limit */
    ofTopLevel(file: string, error: unknown, isOver: boolean): LoadFault {
      if (isolate.isDisposed) return outOfMemory(file)
      return isOver ? loadTimedOut(limits, file, error, files) : describeFault(error, 'script_load', file, files)
    },
    of(error: unknown): LoadFault {
      if (isLoadFault(error)) return error
      return isolate.isDisposed ? outOfMemory('') : describeFault(error, 'script_load', '', files)
    },
  }
}
