import type { NextStep } from './policy.ts'

/** The page of an open sign-in's next step. */
export function stepPath(solution: string, step: Exclude<NextStep['step'], 'done'>): string {
  return `/solution/${solution}/${step}`
}

/** The actions that the account page confirms with a message after a redirect. */
export const DONE = ['confirmed', 'language', 'signed-out'] as const
export type Done = (typeof DONE)[number]

/** @param done the action that has just been completed */
export function accountPath(solution: string, done?: Done): string {
  return `/solution/${solution}/account${done === undefined ? '' : `?done=${done}`}`
}

export function confirmPath(solution: string): string {
  return `/solution/${solution}/confirm`
}

/** The page that confirms a button press. It is the only one that can be shown in a frame. */
export function confirmPressPath(solution: string): string {
  return `${confirmPath(solution)}/press`
}
