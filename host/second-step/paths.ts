import type { NextStep } from './policy.ts'

/** The page of an open sign-in's next step. */
export function stepPath(solution: string, step: Exclude<NextStep['step'], 'done'>): string {
  return `/solution/${solution}/${step}`
}

export function accountPath(solution: string): string {
  return `/solution/${solution}/account`
}

export function confirmPath(solution: string): string {
  return `/solution/${solution}/confirm`
}

/** The page that confirms a button press. It is the only one that can be shown in a frame. */
export function confirmPressPath(solution: string): string {
  return `${confirmPath(solution)}/press`
}
