import { parentPort } from 'node:worker_threads'
import { type ErrorCode, PlatformError } from '../../../runtime/errors.ts'
import { type PackedBody, type ReadBody, readBody } from './read-body.ts'

/* The thread that reads requests from Satellites, one body at a time. */

export type ThreadAnswer =
  | { readonly read: ReadBody }
  | { readonly refusal: { readonly code: ErrorCode; readonly message: string } }
  | { readonly failure: string }

parentPort?.on('message', (body: PackedBody) => parentPort?.postMessage(answerTo(body)))

function answerTo(body: PackedBody): ThreadAnswer {
  try {
    return { read: readBody(body) }
  } catch (error) {
    const { code, message, stack } = error as PlatformError
    return error instanceof PlatformError ? { refusal: { code, message } } : { failure: stack ?? message }
  }
}
