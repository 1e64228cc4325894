/**
 * Answers the launcher (bin/run-with.js), which asks after a signal whether this process still reacts. Called before anything that
 * may take long.
 */
export function answerLauncher(): void {
  process.on('message', () => {
    // The launcher may be gone by now.
    if (process.connected) process.send?.('here', () => {})
  })
}
