package shop;

import java.util.List;

/** class Commented {} */
public final class Cart<T extends Comparable<T>> implements Iterable<T> {
    private static final int LIMIT = Integer.parseInt("20");
    private final List<T> items = new ArrayList<>();

    public Cart() {
        this(LIMIT);
    }

    @Override
    public Iterator<T> iterator() {
        String text = """
            void inText() {
            """;
        return items.iterator();
    }

    protected <R> List<R> map(
            Function<? super T, ? extends R> f) throws IOException {
        if (items.isEmpty()) {
            return List.of();
        }
        return null;
    }

    abstract static class Node {
        abstract int depth(Node parent);
    }

    enum Level { LOW, HIGH }

    record Point(int x, int y) {}
}

interface Visitor {
    void visit(Cart<?> cart);

    default boolean done() {
        return false;
    }
}
