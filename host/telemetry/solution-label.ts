/** Solutions that have a name in metrics; those that come later share one, so that no host has metrics without end. */
const MOST_SOLUTIONS = 50
const OTHERS = 'other'

/** @returns the label of a solution: its name for the first ones of this process */
export function createSolutionLabel(most: number = MOST_SOLUTIONS): (solution: string) => string {
  const known = new Set<string>()
  return (solution) => {
    if (known.has(solution)) return solution
    if (known.size >= most) return OTHERS
    known.add(solution)
    return solution
  }
}
