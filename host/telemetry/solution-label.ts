/** Solutions with their own label in metrics; later ones share one, so that the number of metrics is bounded. */
const MOST_SOLUTIONS = 50
const OTHERS = 'other'

/** @returns a function that labels a solution: by name for the first `most` solutions that this process sees */
export function createSolutionLabel(most: number = MOST_SOLUTIONS): (solution: string) => string {
  const known = new Set<string>()
  return (solution) => {
    if (known.has(solution)) return solution
    if (known.size >= most) return OTHERS
    known.add(solution)
    return solution
  }
}
