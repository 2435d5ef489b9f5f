/* int commented(void) { } */
#include <stdio.h>

#define LIMIT 20
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef unsigned long count_t;

struct cart {
	int size;
	char *names[LIMIT];
};

enum level { LOW, HIGH };

static const char *text = "int in_string(void) {";

static int total(const struct cart *c);

static int total(const struct cart *c)
{
	if (c->size > 0) {
		return c->size;
	}
	return 0;
}

char **split(const char *line,
	     char by)
{
	return NULL;
}

int main(int argc, char **argv) {
	printf("%d\n", total(NULL));
	return 0;
}
