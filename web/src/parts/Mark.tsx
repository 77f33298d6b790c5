/** The mark: curves of learning that come together. */
export function Mark({ size = 26 }: { size?: number }) {
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}
